//go:build goexperiment.jsonv2 && !go1.27

package strictjson

// The experiment of Go 1.26 has the library of Go 1.27 in an earlier state, which reads tags in another way. So
// this does not compile.
const _ = Turn_GOEXPERIMENT_jsonv2_off_or_build_with_Go_1_27
