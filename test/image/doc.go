// Package image judges the container image: built twice from two clones it is the
// same, it holds what it should and no more, and it runs as Kubernetes would run it,
// as a number that is not root, on a root that cannot be written, without a
// capability. It needs Linux, root and buildah, and says so where they are missing.
package image
