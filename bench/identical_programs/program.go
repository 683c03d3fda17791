package main

import (
	"encoding/json"
	"fmt"
	"sort"
)

func main() {
	groups := map[string][]int{}
	for i := 0; i < 2000; i++ {
		name := fmt.Sprint(i * 7919 % 1000)
		groups[name] = append(groups[name], i)
	}
	names := make([]string, 0, len(groups))
	for name := range groups {
		names = append(names, name)
	}
	sort.Strings(names)
	text, _ := json.Marshal(groups)
	fmt.Println(len(names), len(text))
}
