/** One file of a program of the house and all that it imports, for machines that have no clone of it. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, readdir, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const TIMEOUT_MS = 120_000

/**
 * Bundles a program with the bundler that builds the app, in a process of its own: it takes more memory than a server
 * at rest.
 */
export async function bundle(source: string, file: string, format: 'esm' | 'cjs' = 'esm'): Promise<void> {
  const vite = createRequire(import.meta.url).resolve('vite/package.json')
  const bundler = pathToFileURL(createRequire(vite).resolve('rolldown')).href
  const output = { file, format, minify: true, codeSplitting: false }
  const options = { input: source, cwd: dirname(source), platform: 'node', logLevel: 'silent', output }
  const code = `await (await import(${JSON.stringify(bundler)})).build(${JSON.stringify(options)})`
  await new Promise<void>((resolve, reject) => {
    const child = execFile(
      process.execPath,
      ['--input-type=module', '-e', code],
      // The bundler does not get our own surroundings: they hold keys of providers.
      { timeout: TIMEOUT_MS, killSignal: 'SIGKILL', env: { PATH: process.env.PATH } },
      (error, _, said) =>
        error
          ? reject(new Error(`the daemon could not be bundled: ${said.trim().slice(-500) || error.message}`))
          : resolve(),
    )
    // The callers of the server come first, and a server that stops does not wait for it.
    if (child.pid !== undefined) setPriority(child.pid, 10)
    child.unref()
  })
}

/** Names sources by their content, and by the Node that runs: what was made of them is good for as long as this stays. */
export async function stampOf(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(process.version)
  for (const path of paths) {
    const names = (await isFolder(path)) ? await readdir(path, { recursive: true }) : ['']
    for (const name of names.toSorted()) {
      const file = join(path, name)
      if (name === '' || (name.endsWith('.ts') && !name.endsWith('.test.ts')))
        hash.update(name).update(await readFile(file))
    }
  }
  return hash.digest('hex').slice(0, 24)
}

export const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
