package oracle

import "math/big"

// datePart returns a date's year (none is 0: the one before 1 is -1), month
// and day of the proleptic Gregorian calendar. day counts from 2000-01-01. It
// subtracts, from the largest period to the smallest: 400 years from a year
// that 400 divides have 146,097 days.
func datePart(day *big.Int) (year, month, dayOfMonth int64) {
	const period = 146_097
	periods, rest := new(big.Int), new(big.Int)
	periods.DivMod(day, big.NewInt(period), rest) // rest is not negative
	year, left := 2000+400*periods.Int64(), rest.Int64()
	for left >= daysOfYear(year) {
		left -= daysOfYear(year)
		year++
	}
	month = 1
	for left >= daysOfMonth(year, month) {
		left -= daysOfMonth(year, month)
		month++
	}
	if year <= 0 {
		year--
	}
	return year, month, left + 1
}

func leap(year int64) bool {
	return year%4 == 0 && (year%100 != 0 || year%400 == 0)
}

func daysOfYear(year int64) int64 {
	if leap(year) {
		return 366
	}
	return 365
}

func daysOfMonth(year, month int64) int64 {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if leap(year) {
			return 29
		}
		return 28
	}
	return 31
}
