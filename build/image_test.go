//go:build image

// The image as it was built by "make image", looked into and run in a real container.
package build_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An image is what an OCI archive holds.
type image struct {
	digest       string
	Architecture string
	OS           string
	Config       struct {
		User       string
		Entrypoint []string
		Cmd        []string
		Env        []string
		Labels     map[string]string
	}
	files map[string][]byte
}

func readImage(t *testing.T, path string) image {
	t.Helper()
	blobs := untar(t, mustOpen(t, path))
	type descriptor struct{ Digest string }
	blob := func(d descriptor) []byte {
		content, ok := blobs["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
		require.True(t, ok, d.Digest)
		return content
	}
	var index struct{ Manifests []descriptor }
	require.NoError(t, json.Unmarshal(blobs["index.json"], &index))
	require.Len(t, index.Manifests, 1)
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	require.NoError(t, json.Unmarshal(blob(index.Manifests[0]), &manifest))
	i := image{digest: index.Manifests[0].Digest, files: map[string][]byte{}}
	require.NoError(t, json.Unmarshal(blob(manifest.Config), &i))
	for _, layer := range manifest.Layers {
		unzipped, err := gzip.NewReader(bytes.NewReader(blob(layer)))
		require.NoError(t, err)
		for name, content := range untar(t, unzipped) {
			i.files[name] = content
		}
	}
	return i
}

func mustOpen(t *testing.T, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func untar(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		if header.Typeflag == tar.TypeReg {
			content, err := io.ReadAll(archive)
			require.NoError(t, err)
			files[strings.TrimPrefix(header.Name, "/")] = content
		}
	}
}

func archive(arch string) string { return filepath.Join("..", "dist", "trigger-"+arch+".oci.tar") }

func TestTheImageHoldsTheBinaryAndCertificatesOnly(t *testing.T) {
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		t.Run(arch, func(t *testing.T) {
			i := readImage(t, archive(arch))
			assert.Equal(t, "linux", i.OS)
			assert.Equal(t, arch, i.Architecture)
			assert.Equal(t, "65532:65532", i.Config.User)
			assert.Equal(t, []string{"/trigger"}, i.Config.Entrypoint)
			assert.Empty(t, i.Config.Cmd)
			for _, variable := range i.Config.Env {
				assert.True(t, strings.HasPrefix(variable, "PATH="), variable)
			}
			for label, want := range map[string]string{
				"title": "dapr-workflow-trigger", "licenses": "Apache-2.0", "source": "https://github.com/stuttgart-things/dapr-workflow-trigger",
			} {
				assert.Equal(t, want, i.Config.Labels["org.opencontainers.image."+label])
			}
			assert.Len(t, i.Config.Labels["org.opencontainers.image.revision"], 40)
			var names []string
			for name := range i.files {
				names = append(names, name)
			}
			assert.ElementsMatch(t, []string{"trigger", "etc/ssl/certs/ca-certificates.crt"}, names)
			assert.Contains(t, string(i.files["etc/ssl/certs/ca-certificates.crt"]), "BEGIN CERTIFICATE")

			binary, err := elf.NewFile(bytes.NewReader(i.files["trigger"]))
			require.NoError(t, err)
			assert.Equal(t, machine, binary.Machine)
			for _, program := range binary.Progs {
				assert.NotEqual(t, elf.PT_INTERP, program.Type, "it is static")
			}
		})
	}
}

func TestTheImageBuiltAgainIsTheSame(t *testing.T) {
	before := readImage(t, archive("amd64")).digest
	out, err := exec.Command("./image.sh", "trigger", "amd64").CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Equal(t, before, readImage(t, archive("amd64")).digest)
}
