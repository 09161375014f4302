import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { wasm } from './scan.wasm.ts'
import { needs } from '#test/needs.ts'
import { compile, isInstalled } from '../compiler/compile.ts'

const compiler = needs(isInstalled(), 'the compiler of the scan: `npm ci` in packages/json-scan/compiler')

test('the shipped scanner matches its compiled source', compiler, () => {
  const source = readFileSync(new URL('./scan.as', import.meta.url))
  assert.equal(compile(source).toString('base64'), wasm, 'run: sh bin/run packages/json-scan/compiler/build.ts')
})
