// go: build -trimpath
// Records written as JSON by reflection, read again, and packed.
package main

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
)

type Address struct {
	Street string `json:"street"`
	Number int    `json:"number,omitempty"`
}

type Record struct {
	ID      uint32             `json:"id"`
	Name    string             `json:"name"`
	Tags    []string           `json:"tags"`
	Address *Address           `json:"address"`
	Scores  map[string]float64 `json:"scores"`
	Active  bool               `json:"active"`
}

func record(n uint32) Record {
	names := []string{"Ada", "Grace", "Edsger \"E\"", "Käthe", "Barbara"}
	r := Record{ID: n, Name: names[n%5], Active: n&4 != 0, Scores: map[string]float64{}}
	for i := uint32(0); i < n>>7%4; i++ {
		r.Tags = append(r.Tags, fmt.Sprintf("tag-%d", (n>>i)%50))
	}
	if n%3 != 0 {
		r.Address = &Address{"Lane <" + names[n>>9%5] + ">", int(n >> 20)}
	}
	r.Scores["a"] = float64(n%1000) / 8
	if n&1 != 0 {
		r.Scores["b"] = float64(n) * 1e-7
	}
	return r
}

func main() {
	state := uint32(7)
	total, packed := 0, 0
	hash := sha256.New()
	for batch := 0; batch < 5; batch++ {
		var records []Record
		for i := 0; i < 40; i++ {
			state = state*1664525 + 1013904223
			records = append(records, record(state))
		}
		text, err := json.Marshal(records)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		var again []Record
		if err := json.Unmarshal(text, &again); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		var out bytes.Buffer
		w, _ := flate.NewWriter(&out, 3)
		w.Write(text)
		w.Close()
		hash.Write(text)
		total += len(again)
		packed += out.Len()
	}
	fmt.Printf("%d %d %x\n", total, packed, hash.Sum(nil))
}
