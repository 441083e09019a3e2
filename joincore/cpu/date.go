package cpu

import "gpujoin/joincore"

// datePart is a field of a date.
type datePart struct {
	part joincore.DateField
	arg  value
}

func (c *datePart) eval(st *stream, r *rows, out *vector) error {
	if err := c.arg.eval(st, r, out); err != nil {
		return err
	}
	if !out.narrow() {
		return joincore.ErrArithmetic
	}
	lo := out.lo[:out.n]
	for _, day := range lo { // 0 where it is NULL
		if day < joincore.FirstDate || day > joincore.LastDate {
			return joincore.ErrArithmetic
		}
	}
	switch c.part {
	case joincore.Year:
		for i, day := range lo {
			year, _, _ := civil(day)
			lo[i] = year
		}
	case joincore.Month:
		for i, day := range lo {
			_, month, _ := civil(day)
			lo[i] = month
		}
	default:
		for i, day := range lo {
			_, _, dayOfMonth := civil(day)
			lo[i] = dayOfMonth
		}
	}
	out.canonical()
	return nil
}

// civil returns the year (there is none 0), month and day of a date. It counts
// days from March 1 of the year -4800, so that leap days end years and all
// divisions are unsigned (Hinnant, chrono-compatible low-level date
// algorithms).
func civil(day int64) (year, month, dayOfMonth int64) {
	const (
		period = 146_097                      // days of 400 years
		start  = 719_468 + 10_957 + 12*period // from that March 1 to 2000-01-01
	)
	z := uint32(day + start)
	era := z / period
	doe := z - era*period
	yoe := (doe - doe/1460 + doe/36_524 - doe/146_096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	dayOfMonth = int64(doy - (153*mp+2)/5 + 1)
	year = int64(yoe) + 400*int64(era) - 4800
	month = int64(mp) + 3
	if month > 12 {
		month -= 12
		year++
	}
	if year <= 0 {
		year--
	}
	return year, month, dayOfMonth
}
