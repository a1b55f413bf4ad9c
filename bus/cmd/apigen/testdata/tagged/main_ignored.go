//go:build ignore

package main

type Machine int
