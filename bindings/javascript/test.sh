#!/usr/bin/env bash
# The JavaScript package, the README's recording and the page: builds the module, checks types, and runs the tests, those of the page in
# Chromium. Ends with 77, saying so, where there is no node, or no module can be built.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "SKIP: no node, or no npm"
  exit 77
fi
# TypeScript, what makes modules smaller, and what drives Chromium; the tests say what they lack.
npm install --no-package-lock --no-audit --no-fund --silent || echo "npm cannot install: types are not checked, the page is not tried"
node build.mjs
if [ -x node_modules/.bin/tsc ]; then
  committed=$(mktemp -d)
  trap 'rm -rf "$committed"' EXIT
  cp -r types "$committed"
  rm -rf types
  npm run --silent types
  diff -r "$committed/types" types || {
    echo "types: not what the comments say; npm run types has written them anew"
    exit 1
  }
  node_modules/.bin/tsc -p test
  node_modules/.bin/tsc -p ../../web
fi

npm test --silent
cd ../..
node docs/recording.mjs --check
node web/build.mjs
node --test web/*.test.js
