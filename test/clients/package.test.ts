import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { testServer } from '#test/server.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')

/** Answers each path so often with what a busy house answers, then as the server does. */
async function busyHouse(name: string, asked: string[]): Promise<Server> {
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const so = asked.filter((one) => one === asked.at(-1)).length
    const json = (status: number, body: object, headers = {}): void =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    const refused = { error: { type: 'rate_limited', code: 'rate_limited', message: 'Too many.' } }
    request.resume().once('end', () => {
      if (request.method === 'GET')
        return so < 3 ? void response.writeHead(502).end('<h1>no') : json(200, { data: { name } })
      if (so === 1) return void response.writeHead(502).end()
      json(429, refused, { 'retry-after': '0' })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}
const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

test('the packed client can be installed, type-checks strictly and works with a server', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const asked: string[] = []
  const busy = await busyHouse('Alice', asked)
  const gone = await busyHouse('Nobody', [])
  const nobody = originOf(gone)
  await new Promise((resolve) => gone.close(resolve))
  const folder = mkdtempSync(join(tmpdir(), 'uk-package-'))
  try {
    // Packing is what makes it, also where npm is told to run no scripts of packages.
    await run('npm', ['pack', '--ignore-scripts=false', '--pack-destination', folder], {
      cwd: join(root, 'packages/client'),
    })
    const packed = readdirSync(folder).find((name) => name.endsWith('.tgz'))!
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    const silent = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts']
    await run('npm', ['install', ...silent, `./${packed}`], { cwd: folder })
    mkdirSync(join(folder, 'node_modules/@types'))
    for (const name of ['@types/node', 'undici-types'])
      symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
    const strictly = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
    }
    const target = {
      module: 'nodenext',
      target: 'esnext',
      lib: ['esnext'],
      types: ['node'],
      outDir: 'out',
      rootDir: '.',
    }
    const compilerOptions = { ...strictly, ...target }
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['story.ts', 'readme.ts', 'guide.ts'] }),
    )
    cpSync(join(import.meta.dirname, 'stories/package.ts.txt'), join(folder, 'story.ts'))
    const readme = readFileSync(join(root, 'packages/client/README.md'), 'utf8')
    const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
    writeFileSync(join(folder, 'readme.ts'), blocks.join('\n'))
    const guide = readFileSync(join(root, 'docs/guides/clients.md'), 'utf8')
    writeFileSync(join(folder, 'guide.ts'), /^```ts\n(.*?)^```$/ms.exec(guide)![1]!)
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder]).catch(
      ({ stdout }: { stdout: string }) => assert.fail(stdout.slice(0, 4_000)),
    )
    const env = { ...process.env, ORIGIN: server.origin, KEY: key, BUSY: originOf(busy), GONE: nobody }
    const { stdout } = await run(process.execPath, [join(folder, 'out/story.js')], { env })
    assert.deepEqual(JSON.parse(stdout), {
      page: [2, true, 'Autumn'],
      titles: ['Autumn', 'Summer', 'Spring'],
      downloaded: 'a lake in autumn',
      renamed: 'with spaces & more.txt',
      removed: true,
      model: 'sim/echo',
      said: 'Hello',
      kinds: ['run.started', 'message.started', 'text.delta', 'message.completed', 'usage', 'run.completed'],
      subscribed: 'subscribed string',
      missing: ['not_found', 'string'],
      invalid: ['unknown_parameter', 'colour'],
      gone: true,
      patient: 'Alice',
      posted: 502,
      limited: 0,
    })
    // What reads is asked again after a fault; what changes only when it was refused before anything was done.
    assert.deepEqual(asked, [...Array<string>(3).fill('GET /v1/me'), ...Array<string>(3).fill('POST /v1/chats')])
    assert.deepEqual(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).dependencies, {
      '@ukiyo-platform/client': `file:${packed}`,
    })
  } finally {
    busy.closeAllConnections()
    busy.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
