// Thorough: run by the merge check, or by name.
/** The output of a start on a terminal, and where no terminal is. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { seatAt } from '../computers/seat.ts'
import { startKeeper } from '../computers/keeper.ts'
import { startProgram, temporaryDir } from '../program.ts'

const root = join(import.meta.dirname, '../..')
const isJson = (line: string): boolean => line.trimStart().startsWith('{')
const linesOf = (text: string): string[] =>
  stripVTControlCharacters(text)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')

const environment = (dataDir: string): Record<string, string> => ({
  PATH: process.env.PATH!,
  HOME: process.env.HOME!,
  UK_DATA_DIR: dataDir,
  UK_PORT: '0',
  OLLAMA_HOST: 'off',
  UK_LOCAL_ENGINES: 'off',
  UK_COMPUTER_DRIVERS: 'off',
})

test('a start on a terminal shows plain text, with everything logged', async () => {
  await using keeper = await startKeeper()
  using dir = temporaryDir()
  const seat = await seatAt(keeper.client, ['sh', join(root, 'bin/run'), 'src/main.ts'], {
    cwd: root,
    env: { ...environment(dir.path), UK_LOG: 'debug' },
  })
  await seat.sees(/ready http:\/\/\S+/)
  await seat.type('\u0003')
  assert.equal(await seat.exitCode(), 0)
  const lines = linesOf(await seat.sees(/stopping/))
  assert.deepEqual(lines.filter(isJson), [])
  assert.match(lines.join('\n'), /^setup token: \S+$/m)
  // The terminal shows the key before it.
  assert.match(lines.join('\n'), /^(\^C)?\d\d:\d\d:\d\d info +stopping$/m)
})

test('a start without a terminal prints what operators need and logs JSON on stderr only', async () => {
  using dir = temporaryDir()
  {
    await using program = startProgram({ UK_DATA_DIR: dir.path })
    await program.ready
    assert.deepEqual(
      linesOf(program.output().stdout).map((line) => line.split(' ')[0]),
      ['setup', 'ready'],
    )
    program.child.kill('SIGTERM')
    await program.exited
    const { stderr } = program.output()
    assert.deepEqual(
      linesOf(stderr).filter((line) => !isJson(line)),
      [],
    )
    assert.match(stderr, /"msg":"stopping"/)
  }
  await using program = startProgram({ UK_DATA_DIR: dir.path, UK_LOG_FORMAT: 'text' })
  await program.ready
  program.child.kill('SIGTERM')
  await program.exited
  assert.deepEqual(linesOf(program.output().stderr).filter(isJson), [])
})
