// Package encode executes plans that read texts on devices whose expressions read integers
// only. Cores replace texts with integers before the device sees them: a condition that
// reads texts becomes a truth value of 1 byte for each row of its input, and a group key
// becomes a code of 4 bytes, which equal values share. Only these cross the link.
//
// # Plans
//
// An expression can be replaced if all columns that it reads belong to one base input: it
// is computed for all rows of that input. Rows that an outer join adds have NULL in all
// columns of the input, added ones too, so there the expression must be NULL of NULLs.
// Expressions that can fail are not replaced, because they would be computed for rows for
// which SQL does not compute them. What cannot be replaced stays, and the device refuses
// the plan.
//
// The value of a key is not decoded. It is carried, in the words of joincore.Aggregate: the
// group's value is that of any of its rows. A key that is no column is added to its input
// as another column, of texts, which stays on the host.
package encode
