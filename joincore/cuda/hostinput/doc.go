// Package hostinput reads base inputs where they lie in host memory. An input's
// rows are numbered through its segments; readers fetch values by that number and
// write them into batches. Values of variable length and widths that no kernel
// moves reach results only this way.
//
// Parallel loops over an input run by Each and InPieces. They turn a panic and a
// fault in mapped memory into an error: the memory belongs to another process,
// which may truncate it.
package hostinput
