// Package textcodes executes plans that read texts on devices whose expressions read integers
// only. Cores replace texts with integers before the device sees them: a condition that
// reads texts becomes a truth value of 1 byte for each row of its input, and a text that is
// compared with others becomes a code of 4 bytes. Only these cross the link.
//
// # Plans
//
// An expression can be replaced if all columns that it reads belong to one base input: it
// is computed for all rows of that input. Rows that an outer join adds have NULL in all
// columns of the input, added ones too; if the expression is not NULL there, its value is a
// constant of the plan. Expressions that can fail are not replaced, because they would be
// computed for rows for which SQL does not compute them. What cannot be replaced stays, and
// the device refuses the plan.
//
// # Codes
//
// Group keys, distinct values, the least and the greatest text, texts of several inputs
// that are compared, and texts of groups by which they are joined have codes. Texts that
// meet are of one vocabulary: equal texts have equal codes, and where their order counts,
// codes have it. A constant of a vocabulary is a parameter of the plan. Another condition
// over a text of groups becomes the list of the codes for which it is true.
//
// Codes are not decoded. The value of a group key is carried, in the words of
// joincore.Aggregate: it is that of any of the group's rows. A key that is no column is
// added to its input as another column, of texts, which stays on the host. Other texts of
// groups are looked up: their vocabulary is a further input of the plan, to which the
// groups are joined by the code.
package textcodes
