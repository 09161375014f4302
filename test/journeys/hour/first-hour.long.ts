/** Types the first hour with a new server into terminals, and writes the session to docs/first-hour.md. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { startKeeper } from '#test/computers/keeper.ts'
import { needs } from '#test/needs.ts'
import { startAnthropic } from '#test/vendors/anthropic/anthropic.ts'
import { freePort } from '../../outside/free-port.ts'
import { hasProgram } from './machine.ts'
import { type Chapter, type Names, pageOf } from './transcript.ts'
import { sits } from './typist.ts'

const root = join(import.meta.dirname, '../../..')
const docs = readFileSync(join(root, 'docs/operating/https-and-proxies.md'), 'utf8')
const there = ['git', 'nginx', 'openssl'].every(hasProgram)
/** Without the Node that this test runs on: the clone brings its own, and npm is that of the machine, with its settings. */
const PATH_OF_MACHINE = (process.env.PATH ?? '')
  .split(':')
  .filter((folder) => folder !== dirname(process.execPath) && !folder.includes('node_modules'))
  .join(':')
const PASSWORD = 'a long password'
const CLONED = 'https://git.example.com/ukiyo.git'
const model = 'anthropic/claude-sonnet-5-5'

/** What Claude Code is set up by, and asks: ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_MODEL. */
const client = `import Anthropic from '${import.meta.resolve('@anthropic-ai/sdk')}'
const [words, max_tokens = '200'] = process.argv.slice(2)
const stream = new Anthropic({ apiKey: null, maxRetries: 0 }).messages.stream({
  model: process.env.ANTHROPIC_MODEL,
  max_tokens: Number(max_tokens),
  messages: [{ role: 'user', content: words }],
})
stream.on('text', (text) => process.stdout.write(text))
await stream.finalMessage().then(() => console.log(), (error) => { console.log(error.message); process.exitCode = 1 })
`

test(
  'the first hour: from a clone to a team at work, typed by two people',
  needs(there, 'git, nginx and openssl'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const dir = mkdtempSync(join(tmpdir(), 'ukiyo-hour-'))
    stack.defer(() => rmSync(dir, { recursive: true, force: true }))
    // The database runs as a user of its own where the server is started by root, and lies here all the same.
    chmodSync(dir, 0o755)
    const keeper = stack.use(await startKeeper())
    const vendor = stack.use(await startAnthropic())
    const [port, secure] = [await freePort(), await freePort()]
    const homes = ['ada', 'bob'].map((who) => join(dir, who))
    for (const home of homes) mkdirSync(home)
    const [ada = '', bob = ''] = homes
    writeFileSync(join(ada, 'anthropic.txt'), vendor.key)
    for (const home of homes) writeFileSync(join(home, 'claude.mjs'), client)
    const certificate = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
    const names = ['-addext', 'subjectAltName=DNS:localhost']
    execFileSync(
      'openssl',
      ['req', ...certificate, ...names, '-keyout', join(dir, 'privkey.pem'), '-out', join(dir, 'fullchain.pem')],
      { stdio: 'ignore' },
    )

    // Beside those that the machine trusts already.
    const others = process.env.NODE_EXTRA_CA_CERTS
    const trusted = [join(dir, 'fullchain.pem'), ...(others && existsSync(others) ? [others] : [])]
    writeFileSync(join(dir, 'trusted.pem'), trusted.map((file) => readFileSync(file, 'utf8')).join('\n'))

    const began = performance.now()
    const chapters: Chapter[] = []
    const chapter = (title: string, words: string): void => void chapters.push({ title, words, lines: [] })
    const lines = () => chapters.at(-1)!.lines
    let token = '—'
    const redacted = (): Names => [
      [token, '…'],
      [`https://localhost:${secure}`, 'https://uk.example.com'],
      [`http://127.0.0.1:${port}`, 'http://127.0.0.1:4242'],
      [`127.0.0.1:${port}`, '127.0.0.1:4242'],
      [vendor.origin, 'https://api.anthropic.com'],
      [ada, '~'],
      [bob, '~'],
      [dir, '/tmp'],
    ]
    const shell = (who: string, home: string) =>
      sits(keeper.client, {
        who,
        password: PASSWORD,
        cwd: home,
        began,
        names: redacted,
        lines,
        env: {
          PATH: PATH_OF_MACHINE,
          HOME: home,
          LANG: 'C.UTF-8',
          UK_PORT: String(port),
          UK_ORIGIN: `http://127.0.0.1:${port}`,
          UK_UPSTREAM_ALLOW: new URL(vendor.origin).host,
          UK_COMPUTER_DRIVERS: 'off',
          UK_LOCAL_ENGINES: 'off',
          OLLAMA_HOST: 'off',
          NODE_EXTRA_CA_CERTS: join(dir, 'trusted.pem'),
          // The address that is typed leads to this clone.
          GIT_CONFIG_COUNT: '1',
          GIT_CONFIG_KEY_0: `url.${root}.insteadOf`,
          GIT_CONFIG_VALUE_0: CLONED,
        },
      })

    chapter('Get a first response', 'In one terminal the server, in another the person. Nothing is set up before it.')
    const first = await shell('ada', ada)
    await first.types(`git clone -q ${CLONED} && cd ukiyo`)
    const server = await shell('ada', ada)
    await server.types('cd ukiyo')
    lines().pop()
    await server.types('npm start', { until: /^ready \S+\r?\n/m })
    await first.types('export PATH="$PWD/bin:$PATH"')
    await first.types('uk sign-up --email ada@example.com --name Ada')
    assert.match(await first.types(`uk ask -m sim/echo 'Hello, floating world'`), /^Hello, floating world\r?\n/)

    chapter('A provider for the team', 'A workspace with a provider key that all members can use and none can see.')
    await first.types('uk workspaces create Team')
    await first.types('uk workspaces use Team')
    const made = await first.types(
      `uk ai-gateway create --name Anthropic --preset anthropic --base-url ${vendor.origin} --workspace-id Team --api-key @$HOME/anthropic.txt`,
    )
    assert.match(made, /^Created provider "Anthropic" \(\w+\) {2}\S+\r?\n$/m)
    assert.doesNotMatch(made, /status/, 'it works')
    assert.match(await first.types(`uk ask -m ${model} 'Say hello to the team'`), /Say hello to the team/)
    assert.match(await first.types('uk me usage'), /claude-sonnet-5-5|\$|usd/i)

    chapter('A teammate with a budget', 'Ada sends Bob the invitation link, and Bob joins from his own terminal.')
    const invited = await first.types(
      'uk invitations create Team bob@example.com --role member --spend-cap-usd 0.02 --spend-cap-period month',
    )
    token = /#token=([\w-]+)/.exec(invited)![1]!
    const second = await shell('bob', bob)
    await second.types(`export PATH="${join(ada, 'ukiyo/bin')}:$PATH"`)
    lines().pop()
    await second.types('uk sign-up --email bob@example.com --name Bob')
    await second.types(`echo ${token} | uk invitations accept --token -`)
    assert.match(await first.types('uk members list Team'), /bob@example\.com/)

    chapter('Claude Code on the gateway', 'A key for this workspace only, and the variables that Claude Code reads.')
    const keyed = await second.types(
      'uk api-keys create laptop --workspace-id Team --scopes gateway:run --scopes model:read',
    )
    const key = /uk_[0-9A-Za-z]{49}/.exec(keyed)?.[0]
    assert.ok(key, keyed)
    await second.types(`export ANTHROPIC_BASE_URL=http://127.0.0.1:${port}/compat-b ANTHROPIC_MODEL=${model}`)
    await second.types(`export ANTHROPIC_AUTH_TOKEN=${key}`)
    lines().at(-1)!.command = 'export ANTHROPIC_AUTH_TOKEN=uk_…'
    assert.match(await second.types(`node claude.mjs 'Hello from Bob'`), /^Hello from Bob\s*$/)

    chapter('An agent every morning at nine', 'Ada triggers it once manually to test it.')
    await first.types(`uk agents create --name Clerk --model ${model} --system-prompt 'You are brief.'`)
    const nine = await first.types(
      `uk automations create --name Morning --kind cron --schedule '0 9 * * *' --time-zone Europe/Berlin --action '{"type":"agent","agent_id":"'$(uk agents get Clerk -q id)'","prompt":"What is new?"}'`,
    )
    assert.match(nine, /^Created automation "Morning" {2}\S+\/app\/automations\/\w{26}/m)
    await first.types('uk automations test-fire Morning')

    chapter(
      'HTTPS with nginx',
      'The nginx configuration and the two settings from [HTTPS and proxies](operating/https-and-proxies.md#nginx).',
    )
    await server.interrupts()
    writeFileSync(join(ada, 'nginx.conf'), nginxConf(dir, port, secure))
    await first.types('nginx -c ~/nginx.conf')
    stack.defer(() => void process.kill(Number(readFileSync(join(dir, 'nginx.pid'), 'utf8'))))
    await server.types(`UK_PUBLIC_URL=https://localhost:${secure} UK_TRUSTED_PROXIES=127.0.0.1 npm start`, {
      until: /^ready \S+\r?\n/m,
    })
    await second.types(`export ANTHROPIC_BASE_URL=https://localhost:${secure}/compat-b`)
    assert.match(await second.types(`node claude.mjs 'Hello over TLS'`), /^Hello over TLS\s*$/)

    chapter(
      'A backup every night',
      'The command that the [service](operating/install.md) runs every night, run manually.',
    )
    assert.match(await first.types('uk backup --to ~/backups --keep 14'), /rows and \d+ files/)
    assert.match(await first.types('uk restore ~/backups --dry-run'), /is complete/)

    chapter(
      'A call over Bob’s budget',
      'The worst-case cost exceeds 0.02 USD, so the call is rejected. Nothing is sent, and nothing is charged.',
    )
    const sent = vendor.requests.length
    const refused = await second.types(`node claude.mjs 'Write a novel' 64000`)
    assert.match(refused, /402[^]*budget/)
    assert.equal(vendor.requests.length, sent)
    assert.match(await first.types('uk members list Team'), /0\.02/)

    chapter('Restore the backup', 'Restore into an empty folder, and start a server on it.')
    await server.interrupts()
    // The root key of the old instance, which is kept apart from the backups.
    await first.types('mkdir ~/restored && cp data/secret-key ~/restored/')
    assert.match(await first.types('UK_DATA_DIR=~/restored uk restore ~/backups'), /Restored \d+ rows/)
    await server.types('UK_DATA_DIR=~/restored npm start', { until: /^ready \S+\r?\n/m })
    assert.match(await first.types('uk chats list'), /Hello, floating world|Say hello/)
    assert.match(await first.types('uk automations list'), /Morning/)
    assert.match(
      await second.types(`ANTHROPIC_BASE_URL=http://127.0.0.1:${port}/compat-b node claude.mjs 'Still here'`),
      /^Still here\s*$/,
    )
    await server.interrupts()

    const page = pageOf(chapters, { day: new Date().toISOString().slice(0, 10), cores: availableParallelism() })
    for (const [what, secret] of Object.entries({ key, token, password: PASSWORD, vendor: vendor.key, dir, root }))
      assert.ok(!page.includes(secret), `${what} is not shown`)
    writeFileSync(join(root, 'docs/first-hour.md'), page)
  },
)

/** The block of the guide as it stands, but for its addresses, its certificate and what a user without rights may write. */
function nginxConf(dir: string, port: number, secure: number): string {
  const [, block] = /<!-- nginx -->\s+```nginx\n([^]*?)```/.exec(docs)!
  const pasted = block!
    .replace('listen 443 ssl;', `listen 127.0.0.1:${secure} ssl;`)
    .replaceAll('/etc/letsencrypt/live/uk.example.com', dir)
    .replace('127.0.0.1:4242', `127.0.0.1:${port}`)
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir};`)
  return `user root; pid ${dir}/nginx.pid; error_log ${dir}/error.log; events {}\nhttp { access_log off; ${folders.join(' ')}\n${pasted} }\n`
}
