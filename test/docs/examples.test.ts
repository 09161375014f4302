// Thorough: run by the merge check, or by name.
/** What the pages of the docs show is run as it stands there: in each language, against a server. */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryDir } from '#test/program.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { needs } from '#test/needs.ts'
import { PATIENCE_MS } from '#test/until.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const LANGUAGES = ['curl', 'TypeScript', 'Python', 'uk'] as const
type Language = (typeof LANGUAGES)[number]

const has = (program: string): boolean => {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
const programs = needs(has('curl') && has('python3'), 'curl and python3')

let server: TestServer
let alice: Person
let key: string
before(async () => {
  server = await testServer({ environment: { UK_FETCH_ALLOW: '127.0.0.0/8' } })
  alice = await server.person('Alice')
  key = (await alice.key()).key
})
after(() => server[Symbol.asyncDispose]())

const unescaped = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

/** The example of a page, as its reader copies it. */
async function exampleOn(path: string, language: Language): Promise<string> {
  const { text } = await server.stranger.get(`/docs/api/${path}`)
  const found = new RegExp(`data-language="${language}">.*?<code>(.*?)</code>`, 's').exec(text)
  assert.ok(found, `${path} has ${language}`)
  return unescaped(found[1]!)
}

/** What a program prints; `hello.txt` lies where it runs. */
async function printed(language: Language, code: string): Promise<string> {
  using folder = temporaryDir('uk-docs-')
  const at = (name: string): string => join(folder.path, name)
  writeFileSync(at('hello.txt'), 'Hello, file')
  mkdirSync(at('home'))
  const env = { PATH: process.env.PATH, HOME: at('home'), UK_KEY: key, UK_ORIGIN: server.origin }
  const commands: Record<Language, () => [string, string[]]> = {
    curl: () => ['sh', ['-ec', code.replace('curl', 'curl -sS --fail-with-body')]],
    TypeScript: () => [process.execPath, ['--disable-warning=ExperimentalWarning', at('example.mts')]],
    Python: () => ['python3', [at('example.py')]],
    uk: () => ['sh', ['-ec', code.split('\n')[0]!.replace(/^uk /, `sh ${join(root, 'bin/uk')} `)]],
  }
  writeFileSync(at('example.mts'), code)
  writeFileSync(at('example.py'), code)
  const [program, args] = commands[language]()
  const child = run(program, args, { cwd: folder.path, env, timeout: PATIENCE_MS })
  child.child.stdin?.end()
  const { stdout } = await child.catch((error: { stderr: string; stdout: string }) =>
    assert.fail(`${code}\n\n${error.stdout}${error.stderr}`),
  )
  const file = existsSync(at('file')) ? readFileSync(at('file'), 'utf8') : ''
  return stdout + file
}

const ULID = '01KAJ8R3T2M6QK5W9V0XBZC4DE'
const made = async (path: string, body: object): Promise<string> => (await alice.post(path, body)).body.data.id

/** Pages, what their placeholder stands for, and what their examples print. */
const TABLE: { path: string; id?: () => Promise<string>; says: RegExp; uk?: false }[] = [
  { path: 'me/get', says: /alice@example\.com/ },
  { path: 'models/list', says: /sim\/echo/ },
  { path: 'workspaces/create', says: /Print shop/, uk: false },
  { path: 'agents/create', says: /Editor/, uk: false },
  { path: 'chats/create', says: /Autumn/, uk: false },
  { path: 'chats/list', says: /Autumn/ },
  { path: 'chats/get', id: () => made('/chats', { title: 'Found by its id' }), says: /Found by its id/ },
  { path: 'chats/send', id: () => made('/chats', { model: 'sim/echo' }), says: /Hello|content/ },
  { path: 'chats/stream', id: () => made('/chats', { model: 'sim/echo' }), says: /Hello|content/ },
  { path: 'drive/create-folder', id: async () => alice.workspaceId, says: /Letters/, uk: false },
  { path: 'drive/upload', id: async () => alice.workspaceId, says: /hello.*\.txt|Hello/, uk: false },
  {
    path: 'drive/download',
    id: () =>
      made('/drive/files', { workspace_id: alice.workspaceId, name: `${Math.random()}.txt`, content: 'as a file' }),
    says: /as a file/,
  },
  { path: 'chats/trash', id: () => made('/chats', {}), says: /deleted|^[0-9A-Z]{26}$/im },
  { path: 'inference/text', says: /Hello/, uk: false },
  { path: 'inference/text-stream', says: /Hello/, uk: false },
  { path: 'search/query', says: /items|total|Autumn|Nothing/i, uk: false },
  { path: 'notifications/send', says: /The print is ready/, uk: false },
]

for (const language of LANGUAGES)
  test(`${language}: the examples of the docs pages run unchanged`, programs, async () => {
    for (const { path, id, says, uk } of TABLE) {
      if (language === 'uk' && uk === false) continue
      let code = await exampleOn(path, language)
      if (id) code = code.replaceAll(ULID, await id())
      // A name is free once.
      if (path === 'drive/upload')
        code = code.replaceAll(/name(['"]?[,:=] ?['"]?)hello\.txt/g, `name$1hello-${language}.txt`)
      assert.match(await printed(language, code), says, `${path}, ${language}`)
    }
  })

test('gateways and MCP: every example on their pages works in sh, JavaScript and Python', programs, async () => {
  const page = readFileSync(join(root, 'docs/gateways.md'), 'utf8').replaceAll('http://127.0.0.1:4242', server.origin)
  const blocks = [...page.matchAll(/^```(sh|js|python)\n(.*?)^```$/gms)]
  assert.equal(blocks.length, 11)
  // A reader has installed the packages beside the program.
  const resolved = (code: string): string =>
    code.replaceAll(/from '([^']+)'/g, (_, name: string) => `from '${import.meta.resolve(name)}'`)
  await Promise.all(
    blocks.map(async ([, kind, code]) => {
      const language = ({ sh: 'curl', js: 'TypeScript', python: 'Python' } as const)[kind as 'sh' | 'js' | 'python']
      assert.match(await printed(language, kind === 'js' ? resolved(code!) : code!), /Hello|chats/)
    }),
  )
})
