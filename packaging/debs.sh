#!/usr/bin/env bash
# Makes Debian packages of the prebuilt archive in FOLDER: packaging/debs.sh FOLDER. The same archive gives the same bytes.
set -euo pipefail
umask 022
export LC_ALL=C

out=$(realpath "$1")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml" | head -n 1)
revision=$version-1
maintainer="${DEBFULLNAME:-chatparse contributors} <${DEBEMAIL:-contributors@chatparse.invalid}>"
name=chatparse-$version-$(rustc -vV | sed -n 's/^host: //p')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xJf "$out/$name.tar.xz" -C "$work"
tree=$work/$name
soname=$(basename "$tree"/lib/libchatparse.so.*)
package=libchatparse${soname#*.so.}
multiarch=$(cc -print-multiarch)
architecture=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=$(stat -c %Y "$tree/include/chatparse.h")
export SOURCE_DATE_EPOCH

# put PACKAGE FOLDER FILE...: files of the archive, into a folder of the package.
put() {
  mkdir -p "$work/$1/$2"
  cp -a "${@:3}" "$work/$1/$2"
}
put "$package" "usr/lib/$multiarch" "$tree/lib/$soname"
put libchatparse-dev "usr/lib/$multiarch" "$tree"/lib/{libchatparse.so,libchatparse.a,pkgconfig}
put libchatparse-dev usr "$tree/include"
put libchatparse-dev usr/share "$tree/share/cmake"
put libchatparse-dev usr/share/doc/libchatparse-dev "$tree/share/doc/chatparse/LLAMA.md"
put chatparse usr/bin "$tree/bin/chatparse"
put chatparse usr/share/doc/chatparse "$tree"/share/doc/chatparse/{page,templates}.html
put chatparse usr/share "$tree"/share/{man,bash-completion,fish}
put chatparse usr/share/zsh/vendor-completions "$tree"/share/zsh/site-functions/*
gzip -9n "$work"/chatparse/usr/share/man/man1/*
sed -i "s|^prefix=.*|prefix=/usr|; s|^libdir=.*|libdir=\${prefix}/lib/$multiarch|" \
  "$work/libchatparse-dev/usr/lib/$multiarch/pkgconfig/chatparse.pc"
chmod 644 "$work/$package/usr/lib/$multiarch/$soname"
strip --remove-section=.comment --remove-section=.note "$work/chatparse/usr/bin/chatparse" "$work/$package/usr/lib/$multiarch/$soname"

# depends PACKAGE FILE: the packages that have the libraries which the file of this package needs.
depends() {
  (cd "$work" && dpkg-shlibdeps -O -S"$work/$1" "$work/$1/$2" 2>said || { cat said >&2 && return 1; }) | sed 's/^shlibs:Depends=//'
}
mkdir "$work/debian"
echo "Source: chatparse" >"$work/debian/control"

# build PACKAGE SUMMARY FIELD...: the package, with the texts that each has.
build() {
  local root=$work/$1 doc=$work/$1/usr/share/doc/$1
  mkdir -p "$doc" "$root/DEBIAN"
  cat "$tree/share/doc/chatparse/LICENSE" - >"$doc/copyright" <<END

The licences of the crates that it is made of are in LICENCES.gz. The text of the Apache License 2.0 is also in
/usr/share/common-licenses/Apache-2.0.
END
  gzip -9nc "$tree/share/doc/chatparse/LICENCES.txt" >"$doc/LICENCES.gz"
  gzip -9nc "$tree/share/doc/chatparse/CHANGELOG.md" >"$doc/changelog.gz"
  gzip -9n >"$doc/changelog.Debian.gz" <<END
chatparse ($revision) unstable; urgency=medium

  * The release $version.

 -- $maintainer  $(date -uRd "@$SOURCE_DATE_EPOCH")
END
  cp "$tree/share/doc/chatparse/chatparse.cdx.json" "$doc"
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  cat >"$root/DEBIAN/control" <<END
Package: $1
Source: chatparse
Version: $revision
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f 1)
Priority: optional
$(printf '%s\n' "${@:3}")
Description: $2
 chatparse learns from a chat template how a language model writes messages.
 It renders prompts, makes grammars for constrained sampling, and reads
 streamed output as reasoning, content and tool calls.
END
  dpkg-deb --root-owner-group --build "$root" "$out"
}

mkdir -p "$work/$package/DEBIAN"
echo "libchatparse ${soname#*.so.} $package (>= $version)" >"$work/$package/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$work/$package/DEBIAN/triggers"
# Assigned first: a failure inside of an argument would go unseen.
library_needs=$(depends "$package" "usr/lib/$multiarch/$soname")
program_needs=$(depends chatparse usr/bin/chatparse)
build "$package" "chat templates of language models, shared library" "Section: libs" "Multi-Arch: same" \
  "Depends: $library_needs"
build libchatparse-dev "chat templates of language models, development files" "Section: libdevel" "Multi-Arch: same" \
  "Depends: $package (= $revision)"
build chatparse "chat templates of language models, command line" "Section: utils" "Depends: $program_needs"
