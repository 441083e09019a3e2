package cuda

// leastWindow is the least rows of a window that is one of several: enough to fill the
// device, few enough that the first ones are read early.
const leastWindow = 1 << 24

// windowTarget returns how many rows of a probe side of the given rows, of which width bytes
// cross the link, are uploaded and joined at a time. Tables of the build side's partitions
// are made anew for each window, so windows must not be much smaller than the build
// side:
//
//   - a quarter of its rows is always enough;
//   - a quarter of the probe side is, too, as long as a window takes longer to cross the link
//     than to make these tables. One of several devices has a small probe side, and the last
//     window should be a small part of it, because its join is hidden by no upload.
func windowTarget(rows, build, width int64) int64 {
	return max(leastWindow, min(build/4, max(rows/4, tableBytes*build/max(width, 1))))
}

// tableBytes is somewhat more than the bytes that cross the link while tables of one build
// row are made: 0.6 on an H100, whose windows take as long again to be joined.
const tableBytes = 2
