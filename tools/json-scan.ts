/** Compiles `src/gateway/json-scan/scan.as` into `scan.wasm.ts` beside it: `sh bin/run tools/json-scan.ts`, after each change of it. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The version of the package `assemblyscript`, which nobody else needs. */
const COMPILER = '0.28.20'

const room = join(import.meta.dirname, '../src/gateway/json-scan')
const source = readFileSync(join(room, 'scan.as'))
const folder = mkdtempSync(join(tmpdir(), 'json-scan-'))
try {
  writeFileSync(join(folder, 'scan.ts'), source)
  const options = ['-O3', '--converge', '--noAssert', '--runtime', 'stub', '--enable', 'simd', '--initialMemory', '2']
  execFileSync(
    'npx',
    ['--yes', '--package', `assemblyscript@${COMPILER}`, 'asc', 'scan.ts', '-o', 'scan.wasm', ...options],
    { cwd: folder, stdio: 'inherit' },
  )
  const wasm = readFileSync(join(folder, 'scan.wasm')).toString('base64')
  writeFileSync(
    join(room, 'scan.wasm.ts'),
    [
      `/** \`scan.as\`, compiled by \`tools/json-scan.ts\` with AssemblyScript ${COMPILER}. */`,
      `export const sourceHash = '${createHash('sha256').update(source).digest('hex')}'`,
      `export const wasm =\n  '${wasm}'\n`,
    ].join('\n'),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
