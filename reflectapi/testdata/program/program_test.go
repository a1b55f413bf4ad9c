package main

import "testing"

func TestAnswer(*testing.T) { answer() }
