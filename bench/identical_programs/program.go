package main

import (
	"encoding/json"
	"fmt"
	"sort"
)

func main() {
	found := map[string][]int{}
	for i := 0; i < 2000; i++ {
		name := fmt.Sprint(i * 7919 % 1000)
		found[name] = append(found[name], i)
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	text, _ := json.Marshal(found)
	fmt.Println(len(names), len(text))
}
