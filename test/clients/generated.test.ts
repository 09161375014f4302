// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { needs } from '#test/needs.ts'
import { testServer } from '#test/server.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const packages = join(root, 'tools/client-generators/node_modules')
const generators = needs(existsSync(packages), 'the generators of clients: `npm ci` in tools/client-generators')
const description = join(root, 'openapi.json')

/** A program of ours in a folder of its own, compiled strictly with what a generator has made, and run. */
async function tell(story: string, generate: (folder: string) => Promise<unknown>): Promise<unknown> {
  await using server = await testServer()
  const { key } = await (await server.person('Alice')).key()
  const folder = mkdtempSync(join(tmpdir(), 'uk-clients-'))
  try {
    symlinkSync(packages, join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    const options = { strict: true, noUncheckedIndexedAccess: true, noImplicitOverride: true, skipLibCheck: false }
    const place = { outDir: 'out', rootDir: '.', typeRoots: [join(root, 'node_modules/@types')], types: ['node'] }
    const target = { module: 'nodenext', target: 'esnext', lib: ['esnext', 'dom', 'dom.iterable', 'dom.asynciterable'] }
    const compilerOptions = { ...options, ...place, ...target }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts', 'made'] }))
    mkdirSync(join(folder, 'made'))
    cpSync(join(import.meta.dirname, `stories/${story}.ts.txt`), join(folder, 'story.ts'))
    await generate(folder)
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder]).catch(
      ({ stdout }: { stdout: string }) => assert.fail(stdout.slice(0, 4_000)),
    )
    const env = { ...process.env, ORIGIN: server.origin, KEY: key }
    const { stdout } = await run(process.execPath, [join(folder, 'out/story.js')], { env })
    return JSON.parse(stdout)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const program = (name: string): string => join(packages, name)
const expected = {
  names: ['lake (1).txt'],
  bytes: 'a lake in autumn',
  events: ['run.started', 'message.started', 'text.delta', 'message.completed', 'usage', 'run.completed'],
  refused: 'not_found',
}
const distinct = (answer: unknown): unknown => {
  const { events, ...rest } = answer as typeof expected
  return { ...rest, events: [...new Set(events)] }
}

test('a client of @hey-api/openapi-ts uploads, lists, downloads, streams and is refused', generators, async () => {
  const answer = await tell('hey-api', (folder) =>
    run(
      process.execPath,
      [program('@hey-api/openapi-ts/bin/run.js'), '-i', description, '-o', join(folder, 'made'), '--silent'],
      { cwd: folder },
    ),
  )
  assert.deepEqual(distinct(answer), expected)
})

test('a client of openapi-typescript does the same', generators, async () => {
  const answer = await tell('openapi-typescript', (folder) =>
    run(process.execPath, [
      program('openapi-typescript/bin/cli.js'),
      description,
      '-o',
      join(folder, 'made/types.d.ts'),
    ]),
  )
  assert.deepEqual(distinct(answer), expected)
})

test('a validator of another make than the linter finds the description valid', generators, async () => {
  const { Validator } = (await import(pathToFileURL(program('@seriousme/openapi-schema-validator/index.js')).href)) as {
    Validator: new () => { validate(document: object): Promise<{ valid: boolean; errors?: unknown }> }
  }
  const document = JSON.parse(readFileSync(description, 'utf8')) as { paths: object }
  assert.deepEqual(await new Validator().validate(document), { valid: true })
  assert.equal((await new Validator().validate({ ...document, paths: { '/me': { get: {}, post: 7 } } })).valid, false)
})
