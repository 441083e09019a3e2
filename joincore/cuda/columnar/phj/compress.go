package phj

// Rows that cross a slow link are compressed: kernels/layout/compress.h has the format, and
// the types that these mirror. All words of a row are compressed, those of the key as such: in the
// row buffer, and in the stripes of packed payload.

type rowWord struct{ At, Stride uint64 }

type rowPart struct{ Row, Rows, Partition, Chunk, Parcel uint64 }

type parcelDescriptor struct{ Chunk, Places, Data, Used uint64 }

type compressionDescriptor struct {
	Words, WordCount, SharedBits uint64
	Parts, PartCount             uint64
	Parcels, Chunks              uint64
}

// Sizes of these types, which must equal the kernels' gj_compress_layout, and numbers of it.
const (
	compressionBytes = 7 * 8
	rowWordBytes     = 2 * 8
	rowPartBytes     = 5 * 8
	parcelBytes      = 4 * 8
	chunkRows        = 1024
	chunkUnit        = 16  // bytes
	mostChunkWords   = 514 // of a row
)

// parcel is what of a flow goes to one device in compressed form: the places of its chunks, and
// behind them the chunks.
type parcel struct {
	at     uint64 // places
	places int64  // bytes of the places, padded
	most   int64  // bytes of the chunks, at most
	rows   int64
	chunks uint64
}

// placesAlign is the bytes to a multiple of which places are padded.
const placesAlign = 256

// bytes is the most memory that a parcel takes.
func (p *parcel) bytes() int64 { return p.places + p.most }

// data is where the chunks begin.
func (p *parcel) data() uint64 { return p.at + uint64(p.places) }

// describe describes the parcel, whose first chunk has the given number, to kernels.
func (p *parcel) describe(chunk, used uint64) parcelDescriptor {
	return parcelDescriptor{Chunk: chunk, Places: p.at, Data: p.data(), Used: used}
}

// planParcel returns the parcel of rows of the given words, without its place, and its parts: starts and rows are by partition.
// The parcel has the given number in its list, and its first chunk that one.
func planParcel(starts, rows []uint32, words int, number, chunk uint64) (p parcel, parts []rowPart) {
	for i, n := range rows {
		if n == 0 {
			continue
		}
		parts = append(parts, rowPart{Row: uint64(starts[i]), Rows: uint64(n), Partition: uint64(i), Chunk: chunk + p.chunks, Parcel: number})
		full, rest := int64(n)/chunkRows, int64(n)%chunkRows
		p.chunks += uint64(full)
		p.most += full * chunkBytes(chunkRows, words)
		if rest > 0 {
			p.chunks++
			p.most += chunkBytes(rest, words)
		}
		p.rows += int64(n)
	}
	p.places = int64(roundUp(4*int64(p.chunks), placesAlign))
	return p, parts
}

// sentTo returns where the rows begin that a device, self, sends to another one, and their numbers, by
// partition.
func sentTo(s Sending, to, self int) (starts, rows []uint32) {
	rows = make([]uint32, len(s.To))
	for p, set := range s.To {
		if to != self && set>>to&1 != 0 {
			rows[p] = s.Rows[p]
		}
	}
	return s.Front[to], rows
}

// receivedFrom returns the same of the rows that it gets.
func receivedFrom(arrivals []Arrival, from, self int) (starts, rows []uint32) {
	a := arrivals[from]
	if from == self {
		return a.Start, make([]uint32, len(a.Rows))
	}
	return a.Start, a.Rows
}

// chunkBytes is the most bytes of a chunk: one that does not shrink.
func chunkBytes(rows int64, words int) int64 {
	return int64(roundUp(4*(1+rows*int64(words)), chunkUnit))
}

// rowWords describes the words of rows in stripes of the given sizes, which begin at an address
// and have the given capacity in rows.
func rowWords(at, capacity uint64, sizes []int64) (words []rowWord) {
	for _, bytes := range sizes {
		for word := int64(0); word < bytes; word += 4 {
			words = append(words, rowWord{At: at + uint64(word), Stride: uint64(bytes)})
		}
		at += capacity * uint64(bytes)
	}
	return words
}
