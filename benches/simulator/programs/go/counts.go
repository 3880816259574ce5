// go: build -trimpath
// Words of a text counted in a map, sorted by a closure, and printed through a buffer; numbers are told from words by an error.
package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
)

type entry struct {
	word  string
	count int
	first int
}

func text(lines int) string {
	var b strings.Builder
	state := uint32(12345)
	for i := 0; i < lines; i++ {
		for j := 0; j < 9; j++ {
			state = state*1664525 + 1013904223
			switch r := state >> 24; {
			case r < 40:
				b.WriteString(strconv.Itoa(int(state>>16) % 500))
			case r < 90:
				b.WriteString("the")
			case r < 130:
				b.WriteString("Of")
			default:
				for k := uint32(0); k < 2+r%6; k++ {
					b.WriteByte(byte('a' + (state>>(3*k))%13))
				}
			}
			b.WriteByte(" \t,;"[state>>10&3])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func count(text string) (map[string]*entry, int) {
	counts := map[string]*entry{}
	sum := 0
	for line, rest := 0, text; rest != ""; line++ {
		end := strings.IndexByte(rest, '\n')
		for _, field := range strings.FieldsFunc(rest[:end], func(r rune) bool { return strings.ContainsRune(" \t,;", r) }) {
			if n, err := strconv.Atoi(field); err == nil {
				sum += n
				continue
			}
			word := strings.ToLower(field)
			e, ok := counts[word]
			if !ok {
				e = &entry{word: word, first: line}
				counts[word] = e
			}
			e.count++
		}
		rest = rest[end+1:]
	}
	return counts, sum
}

func main() {
	counts, sum := count(text(1200))
	entries := make([]*entry, 0, len(counts))
	for _, e := range counts {
		entries = append(entries, e)
	}
	sort.Slice(entries, func(i, j int) bool {
		if entries[i].count != entries[j].count {
			return entries[i].count > entries[j].count
		}
		return entries[i].word < entries[j].word
	})
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for i, e := range entries {
		if i < 400 || e.first%7 == 0 {
			fmt.Fprintf(out, "%6d %-12s %v\n", e.count, e.word, e.first)
		}
	}
	fmt.Fprintln(out, sum)
}
