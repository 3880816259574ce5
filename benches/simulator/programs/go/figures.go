// go: build -trimpath
// Figures behind an interface, in a tree whose nodes goroutines hand each other over channels; some panic and recover.
package main

import (
	"errors"
	"fmt"
	"math"
)

type figure interface {
	area() float64
	scale(by float64) figure
}

type circle struct{ radius float64 }
type box struct{ width, height float64 }
type polygon struct{ xs, ys []float64 }
type group []figure

func (c circle) area() float64           { return math.Pi * c.radius * c.radius }
func (c circle) scale(by float64) figure { return circle{c.radius * by} }
func (b *box) area() float64             { return b.width * b.height }
func (b *box) scale(by float64) figure   { return &box{b.width * by, b.height * by} }

func (p *polygon) area() float64 {
	sum := 0.0
	for i := range p.xs {
		j := (i + 1) % len(p.xs)
		sum += p.xs[i]*p.ys[j] - p.xs[j]*p.ys[i]
	}
	return math.Abs(sum) / 2
}

func (p *polygon) scale(by float64) figure {
	q := &polygon{make([]float64, len(p.xs)), make([]float64, len(p.ys))}
	for i := range p.xs {
		q.xs[i], q.ys[i] = p.xs[i]*by, p.ys[i]*by
	}
	return q
}

func (g group) area() (sum float64) {
	for _, f := range g {
		sum += f.area()
	}
	return
}

func (g group) scale(by float64) figure {
	h := make(group, 0, len(g))
	for _, f := range g {
		h = append(h, f.scale(by))
	}
	return h
}

var errFlat = errors.New("flat")

func made(n uint32) (f figure, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%d: %w", n, errFlat)
		}
	}()
	switch n >> 28 {
	case 0, 1, 2, 3, 4, 5:
		return circle{float64(n%100) / 10}, nil
	case 6, 7, 8, 9, 10:
		return &box{float64(n % 64), float64(n >> 8 % 64)}, nil
	case 11, 12, 13:
		p := &polygon{}
		for i := uint32(0); i < 3+n%9; i++ {
			angle := float64(i) / float64(3+n%9) * 2 * math.Pi
			p.xs, p.ys = append(p.xs, math.Cos(angle)), append(p.ys, math.Sin(angle))
		}
		return p, nil
	case 14:
		var g group
		for i := uint32(1); i < 5; i++ {
			if f, err := made(n * (2*i + 1)); err == nil {
				g = append(g, f)
			}
		}
		return g, nil
	}
	panic(n)
}

func produce(count int, to chan<- figure) {
	defer close(to)
	state := uint32(99)
	for i := 0; i < count; i++ {
		state = state*1664525 + 1013904223
		if f, err := made(state); err == nil {
			to <- f
		} else if !errors.Is(err, errFlat) {
			return
		}
	}
}

func resize(from <-chan figure, to chan<- figure) {
	defer close(to)
	for f := range from {
		if b, ok := f.(*box); ok && b.width < b.height {
			f = f.scale(0.5)
		} else if f.area() > 100 {
			f = f.scale(1 / math.Sqrt(f.area()))
		}
		to <- f
	}
}

func main() {
	made, resized := make(chan figure, 16), make(chan figure, 16)
	go produce(9000, made)
	go resize(made, resized)
	kinds := map[string]int{}
	sum := 0.0
	for f := range resized {
		switch f := f.(type) {
		case circle:
			kinds["circle"]++
		case *box:
			kinds["box"]++
		case *polygon:
			kinds["polygon"] += len(f.xs)
		default:
			kinds["group"]++
		}
		sum += f.area()
	}
	fmt.Printf("%v %.3f\n", kinds, sum)
}
