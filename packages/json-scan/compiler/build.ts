/** Compiles `scan.as` into `scan.wasm.ts`: `sh bin/run packages/json-scan/compiler/build.ts`, after each change of it. */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compile, compilerVersion, install, isInstalled } from './compile.ts'

const room = join(import.meta.dirname, '../src')
const source = readFileSync(join(room, 'scan.as'))
if (!isInstalled()) install()
const wasm = compile(source)
writeFileSync(
  join(room, 'scan.wasm.ts'),
  [
    `/** \`scan.as\`, compiled by \`compiler/build.ts\` with AssemblyScript ${compilerVersion()}. */`,
    `export const sourceHash = '${createHash('sha256').update(source).digest('hex')}'`,
    `export const wasm =\n  '${wasm.toString('base64')}'\n`,
  ].join('\n'),
)
