import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { program, ranBy } from '#test/cli/uk.ts'
import { temporaryDir } from '#test/program.ts'
import { exits } from '../../exit.ts'

const said = { author: { role: 'user' }, content: { content_type: 'text', parts: ['Hi'] } }
const exported = {
  chatgpt: [{ id: 'c', mapping: { m: { message: said } } }],
  claude: [{ uuid: 'c', chat_messages: [{ uuid: 'm', sender: 'human', text: 'Hi' }] }],
  'open-webui': [{ id: 'c', chat: { history: { messages: { m: { role: 'user', content: 'Hi' } } } } }],
}

test('an export from another app is rejected with the right command, and a file without chats with a reason', async () => {
  using dir = temporaryDir()
  const run = async (command: string, name: string, content: unknown, ...more: string[]) => {
    const path = join(dir.path, `${name}.json`)
    await writeFile(path, JSON.stringify(content))
    return ranBy(
      spawn(program, ['import', command, path, ...more], { env: { PATH: process.env.PATH!, HOME: dir.path } }),
      '',
    )
  }
  for (const command of Object.keys(exported))
    for (const [name, content] of Object.entries(exported)) {
      const { code, err } = await run(command, name, content, '--dry-run')
      if (command === name) assert.equal(code, 0, err)
      else {
        assert.equal(code, exits.usage[0], err)
        assert.ok(err.includes(`uk import ${name} ${join(dir.path, name)}.json`), err)
        assert.match(err, /Nothing was imported/)
      }
    }
  const none = await run('chatgpt', 'other', [{ a: 1 }, 2], '--yes', '--json')
  assert.deepEqual([none.code, JSON.parse(none.out).found], [exits.usage[0], 0], none.err)
  assert.match(none.err, /contains no ChatGPT chats/)
  const both = await run('claude', 'both', [...exported.claude, ...exported.chatgpt], '--dry-run')
  assert.deepEqual(
    [both.code, /1 ChatGPT chats \(import them with `uk import chatgpt`\)/.test(both.err)],
    [0, true],
    both.err,
  )
  const empty = await run('claude', 'empty', [], '--dry-run')
  assert.equal(empty.code, 0, empty.err)
})
