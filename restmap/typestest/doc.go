// Package typestest holds docs/guides/types.md to what types become: of the language, of the standard library and of
// others, each tried in an argument and in a result. It is a module of its own for the libraries that it tries.
package typestest
