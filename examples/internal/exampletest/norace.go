//go:build !race

package exampletest

const withRace = false
