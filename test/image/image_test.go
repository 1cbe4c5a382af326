//go:build linux

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tools skips the test where it is not asked for, or cannot run.
func tools(t *testing.T) {
	t.Helper()
	if os.Getenv("LSO_IMAGE") == "" {
		t.Skip("LSO_IMAGE is not set")
	}
	if os.Geteuid() != 0 {
		t.Skip("to mount and to become another user needs root")
	}
	if _, err := exec.LookPath("buildah"); err != nil {
		t.Skip("buildah is not here; Debian's package is buildah")
	}
}

// run runs a program in a folder and returns what it printed.
func run(t *testing.T, folder, name string, arguments ...string) string {
	t.Helper()
	command := exec.Command(name, arguments...)
	command.Dir = folder
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", filepath.Base(name), err, output, stderr.Bytes())
	}
	return string(output)
}

// build makes the image of the last commit in a clone of its own, and returns the
// archive and its digest.
func build(t *testing.T, clone string) (archive, digest string) {
	t.Helper()
	run(t, ".", "git", "clone", "--quiet", "../..", clone)
	fields := strings.Fields(run(t, clone, "deploy/image/build"))
	return filepath.Join(clone, fields[0]), fields[len(fields)-1]
}

func TestImage(t *testing.T) {
	tools(t)
	folder := t.TempDir()
	archive, digest := build(t, filepath.Join(folder, "one"))
	t.Run("two builds are the same", func(t *testing.T) {
		if _, again := build(t, filepath.Join(folder, "another/at/a/longer/path")); again != digest {
			t.Errorf("one build has the digest %s, another %s", digest, again)
		}
	})
	blobs := unpack(t, archive)
	m := manifest(t, blobs, digest)
	t.Run("how it is run", func(t *testing.T) { checkConfig(t, blobs[m.Config.Digest]) })
	root := filepath.Join(folder, "root")
	t.Run("what it holds", func(t *testing.T) { checkFiles(t, extract(t, blobs, m, root), root) })
	t.Run("it runs with the least", func(t *testing.T) { checkRun(t, root) })
}

// A reference is how one part of an image names another.
type reference struct {
	Digest string `json:"digest"`
}

type imageManifest struct {
	Config reference   `json:"config"`
	Layers []reference `json:"layers"`
}

// unpack is the parts of an OCI archive by digest.
func unpack(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	blobs := make(map[string][]byte)
	for files := tar.NewReader(f); ; {
		header, err := files.Next()
		if err == io.EOF {
			return blobs
		}
		if err != nil {
			t.Fatal(err)
		}
		hash, ok := strings.CutPrefix(header.Name, "blobs/sha256/")
		if !ok {
			continue
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		blobs["sha256:"+hash] = content
	}
}

func manifest(t *testing.T, blobs map[string][]byte, digest string) (m imageManifest) {
	t.Helper()
	if err := json.Unmarshal(blobs[digest], &m); err != nil {
		t.Fatalf("manifest %s: %v", digest, err)
	}
	return m
}

// checkConfig looks at what a container engine is told.
func checkConfig(t *testing.T, content []byte) {
	var config struct {
		Config struct {
			User       string
			Entrypoint []string
			Cmd        []string
			Env        []string
			Labels     map[string]string
		} `json:"config"`
	}
	if err := json.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	c := config.Config
	if c.User != "65532:65532" {
		t.Errorf("the user is %q, and Kubernetes must see a number that is not root", c.User)
	}
	if !slices.Equal(c.Entrypoint, []string{"/lso-exporter"}) || !slices.Equal(c.Cmd, []string{"serve"}) {
		t.Errorf("it runs %q %q", c.Entrypoint, c.Cmd)
	}
	for _, variable := range c.Env {
		if !strings.HasPrefix(variable, "PATH=") {
			t.Errorf("the environment has %s", variable)
		}
	}
	const prefix = "org.opencontainers.image."
	if revision := strings.TrimSpace(run(t, ".", "git", "rev-parse", "HEAD")); c.Labels[prefix+"revision"] != revision {
		t.Errorf("the label says revision %q, and it was built of %s", c.Labels[prefix+"revision"], revision)
	}
	for _, label := range []string{"title", "description", "source", "licenses", "version"} {
		if c.Labels[prefix+label] == "" {
			t.Errorf("no label %s%s", prefix, label)
		}
	}
}

// extract writes the layers' files below root, and returns a line for each: mode,
// owner, name.
func extract(t *testing.T, blobs map[string][]byte, m imageManifest, root string) (lines []string) {
	t.Helper()
	for _, layer := range m.Layers {
		plain, err := gzip.NewReader(bytes.NewReader(blobs[layer.Digest]))
		if err != nil {
			t.Fatal(err)
		}
		for files := tar.NewReader(plain); ; {
			header, err := files.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%04o %d:%d %s", header.Mode&0o7777, header.Uid, header.Gid, header.Name))
			if header.Typeflag != tar.TypeReg {
				continue
			}
			name := filepath.Join(root, filepath.FromSlash(header.Name))
			content, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, content, os.FileMode(header.Mode&0o777)); err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// checkFiles looks at every file: nobody but root owns one, so that the exporter
// could change none even if the root could be written.
func checkFiles(t *testing.T, lines []string, root string) {
	want := []string{
		"0644 0:0 LICENSE", "0644 0:0 etc/ssl/certs/ca-certificates.crt",
		"0755 0:0 etc/", "0755 0:0 etc/ssl/", "0755 0:0 etc/ssl/certs/", "0755 0:0 lso-exporter",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("the image holds\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	authorities, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authorities) || strings.Count(string(authorities), "BEGIN CERTIFICATE") < 100 {
		t.Error("the authorities are not there")
	}
}
