import type { StreamParser } from '@codemirror/language'

type Load = () => Promise<StreamParser<unknown>>

/** Loads only the language of the opened file. */
const javascript: Load = async () => (await import('@codemirror/legacy-modes/mode/javascript')).javascript
const typescript: Load = async () => (await import('@codemirror/legacy-modes/mode/javascript')).typescript
const json: Load = async () => (await import('@codemirror/legacy-modes/mode/javascript')).json
const python: Load = async () => (await import('@codemirror/legacy-modes/mode/python')).python
const shell: Load = async () => (await import('@codemirror/legacy-modes/mode/shell')).shell
const yaml: Load = async () => (await import('@codemirror/legacy-modes/mode/yaml')).yaml
const toml: Load = async () => (await import('@codemirror/legacy-modes/mode/toml')).toml
const css: Load = async () => (await import('@codemirror/legacy-modes/mode/css')).css
const xml: Load = async () => (await import('@codemirror/legacy-modes/mode/xml')).xml
const html: Load = async () => (await import('@codemirror/legacy-modes/mode/xml')).html
const sql: Load = async () => (await import('@codemirror/legacy-modes/mode/sql')).standardSQL
const go: Load = async () => (await import('@codemirror/legacy-modes/mode/go')).go
const rust: Load = async () => (await import('@codemirror/legacy-modes/mode/rust')).rust
const ruby: Load = async () => (await import('@codemirror/legacy-modes/mode/ruby')).ruby
const swift: Load = async () => (await import('@codemirror/legacy-modes/mode/swift')).swift
const c: Load = async () => (await import('@codemirror/legacy-modes/mode/clike')).c
const cpp: Load = async () => (await import('@codemirror/legacy-modes/mode/clike')).cpp
const java: Load = async () => (await import('@codemirror/legacy-modes/mode/clike')).java
const kotlin: Load = async () => (await import('@codemirror/legacy-modes/mode/clike')).kotlin
const csharp: Load = async () => (await import('@codemirror/legacy-modes/mode/clike')).csharp
const diff: Load = async () => (await import('@codemirror/legacy-modes/mode/diff')).diff
const properties: Load = async () => (await import('@codemirror/legacy-modes/mode/properties')).properties
const dockerfile: Load = async () => (await import('@codemirror/legacy-modes/mode/dockerfile')).dockerFile
const markdown: Load = async () => (await import('./markdown.ts')).markdown
const stex: Load = async () => (await import('@codemirror/legacy-modes/mode/stex')).stex

const byEnding: Record<string, Load> = {
  js: javascript,
  mjs: javascript,
  cjs: javascript,
  jsx: javascript,
  ts: typescript,
  tsx: typescript,
  mts: typescript,
  cts: typescript,
  json,
  jsonl: json,
  ndjson: json,
  py: python,
  sh: shell,
  bash: shell,
  zsh: shell,
  yaml,
  yml: yaml,
  toml,
  css,
  xml,
  svg: xml,
  html,
  htm: html,
  sql,
  go,
  rs: rust,
  rb: ruby,
  swift,
  c,
  h: c,
  cpp,
  hpp: cpp,
  cc: cpp,
  java,
  kt: kotlin,
  cs: csharp,
  diff,
  patch: diff,
  ini: properties,
  env: properties,
  properties,
  tex: stex,
  md: markdown,
  markdown,
}

export function languageOf(name: string): Load | null {
  if (/^dockerfile$/i.test(name)) return dockerfile
  const ending = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''
  return Object.hasOwn(byEnding, ending) ? byEnding[ending]! : null
}
