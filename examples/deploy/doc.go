// Package deploy holds files that put a bus into operation: an image, Compose, Kubernetes and Prometheus.
// docs/guides/deploy.md says how to use them; there is no code here, only tests of the files.
package deploy
