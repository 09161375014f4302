import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const packages = join(import.meta.dirname, 'node_modules')
const options = ['-O3', '--converge', '--noAssert', '--runtime', 'stub', '--enable', 'simd', '--initialMemory', '2']

/** The compiler has its own lock file, because only changes of the scan need it. */
export const isInstalled = (): boolean => existsSync(join(packages, 'assemblyscript'))

export const install = (): void =>
  void execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: import.meta.dirname, stdio: 'inherit' })

export const compilerVersion = (): string =>
  (JSON.parse(readFileSync(join(packages, 'assemblyscript/package.json'), 'utf8')) as { version: string }).version

/** Compiles AssemblyScript to WebAssembly, to the same bytes on every machine. */
export function compile(source: Uint8Array): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'assemblyscript-'))
  try {
    writeFileSync(join(folder, 'source.ts'), source)
    const compiler = join(packages, 'assemblyscript/bin/asc.js')
    execFileSync(process.execPath, [compiler, 'source.ts', '-o', 'compiled.wasm', ...options], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    return readFileSync(join(folder, 'compiled.wasm'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
