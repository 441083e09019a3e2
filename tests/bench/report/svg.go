package report

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Colours are of medium lightness, so that they can be told from a white and from a dark
// background.
const (
	textColour = "#797979"
	gridColour = "#9a9a9a"
	blue       = "#4c78a8"
	orange     = "#c8641e"
	red        = "#c2452d"
	green      = "#3f8f4f"
	violet     = "#9063b8"
	grey       = "#7f7f7f"
	teal       = "#2f8c8c"
)

// canvas writes an SVG document. It has no background and no fonts.
type canvas struct {
	b strings.Builder
}

func newCanvas(width, height int, title string) *canvas {
	c := &canvas{}
	fmt.Fprintf(&c.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" fill="%s" role="img">`+"\n",
		width, height, width, height, textColour)
	fmt.Fprintf(&c.b, "<title>%s</title>\n", html.EscapeString(title))
	return c
}

func (c *canvas) String() string { return c.b.String() + "</svg>\n" }

func (c *canvas) rect(x, y, width, height float64, colour string) {
	fmt.Fprintf(&c.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, width, height, colour)
}

func (c *canvas) line(x1, y1, x2, y2 float64, colour string) {
	fmt.Fprintf(&c.b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="0.5"/>`+"\n", x1, y1, x2, y2, colour)
}

func (c *canvas) dot(x, y float64, colour string) {
	fmt.Fprintf(&c.b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x, y, colour)
}

func (c *canvas) path(xs, ys []float64, colour string, dashed bool) {
	var points []string
	for i := range xs {
		points = append(points, fmt.Sprintf("%.1f,%.1f", xs[i], ys[i]))
	}
	dash := ""
	if dashed {
		dash = ` stroke-dasharray="6 4"`
	}
	fmt.Fprintf(&c.b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", strings.Join(points, " "), colour, dash)
}

// text writes a text whose anchor is start, middle or end.
func (c *canvas) text(x, y float64, anchor, text string) {
	fmt.Fprintf(&c.b, `<text x="%.1f" y="%.1f" font-size="12" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(text))
}

// legend writes colours and their names in one row.
func (c *canvas) legend(x, y float64, entries []entry) {
	for _, e := range entries {
		if e.dashed {
			c.path([]float64{x - 4, x + 14}, []float64{y - 5, y - 5}, e.colour, true)
		} else {
			c.rect(x, y-10, 10, 10, e.colour)
		}
		c.text(x+16, y, "start", e.name)
		x += 36 + 6.4*float64(len([]rune(e.name)))
	}
}

// entry is one of a legend.
type entry struct {
	name, colour string
	dashed       bool
}

// axis maps values to positions, on a logarithmic scale of whole decades.
type axis struct {
	low, high float64 // exponents of 10
	from, to  float64 // positions
}

// newAxis returns an axis that has all values, which are above 0.
func newAxis(values []float64, from, to float64) axis {
	a := axis{low: math.Inf(1), high: math.Inf(-1), from: from, to: to}
	for _, v := range values {
		a.low, a.high = min(a.low, math.Floor(math.Log10(v))), max(a.high, math.Ceil(math.Log10(v)))
	}
	if a.high == a.low {
		a.high++
	}
	return a
}

func (a axis) at(v float64) float64 {
	return a.from + (math.Log10(v)-a.low)/(a.high-a.low)*(a.to-a.from)
}

// decades returns the powers of 10 on the axis.
func (a axis) decades() (list []float64) {
	for e := a.low; e <= a.high; e++ {
		list = append(list, math.Pow(10, e))
	}
	return list
}
