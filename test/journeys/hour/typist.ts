/** Somebody at a shell in a terminal, who types and reads. */
import type { KeeperClient } from '#daemon/keeper/client.ts'
import { seatAt } from '#test/computers/seat.ts'
import { type Line, type Names, readable } from './transcript.ts'

/** Invisible, before each prompt: https://gitlab.freedesktop.org/Per_Bothner/specifications/-/blob/master/proposals/semantic-prompts.md */
const MARK = '\x1b]133;A\x07'

/** The end of what is said by a program that waits for a password. */
const ASKS = /(assword|again)[^\n]*: ?$/

export interface Typist {
  /**
   * Types a command, and the password where it is asked for, and waits until it has ended, or until it has said this, when it goes
   * on. Answers its output as it was.
   */
  types(command: string, more?: { until?: RegExp }): Promise<string>
  /** Ctrl-C, and waits for the prompt. */
  interrupts(): Promise<void>
}

export async function sits(
  client: KeeperClient,
  {
    who,
    password,
    env,
    cwd,
    began,
    names,
    lines,
  }: {
    who: string
    password: string
    env: Record<string, string>
    cwd: string
    began: number
    names: () => Names
    lines: () => Line[]
  },
): Promise<Typist> {
  const prompt = { PS1: `\\[${MARK.replace('\x1b', '\\e').replace('\x07', '\\a')}\\]$ `, TERM: 'dumb' }
  const seat = await seatAt(client, ['bash', '--norc', '--noprofile', '--noediting', '-i'], {
    env: { ...env, ...prompt },
    cwd,
  })
  let read = (await seat.shows((all) => all.includes(MARK))).length
  /** What was said since, once it holds this. */
  const hears = async (holds: (said: string) => boolean): Promise<string> =>
    (await seat.shows((all) => holds(all.slice(read)))).slice(read)
  const runs = async (command: string, until: RegExp | undefined): Promise<string> => {
    await seat.type(`${command}\r`)
    let answered = 0
    for (;;) {
      const asks = (said: string): boolean => ASKS.test(said.slice(answered))
      const ends = (said: string): boolean => (until === undefined ? said.includes(MARK) : until.test(said))
      const said = await hears((text) => ends(text) || asks(text))
      if (ends(said)) {
        read += said.length
        return said.slice(said.indexOf('\n') + 1).split(MARK)[0]!
      }
      answered = said.length
      await seat.type(`${password}\r`)
    }
  }
  // What says of a terminal that it is one of the platform's own.
  await runs('unset UK_RUN_ID', undefined)
  return {
    async types(command, { until } = {}) {
      const from = performance.now()
      const output = await runs(command, until)
      const now = performance.now()
      let shown = command
      for (const [was, word] of names()) shown = shown.replaceAll(was, word)
      lines().push({ who, command: shown, output: readable(output, names()), at: now - began, took: now - from })
      return output
    },
    async interrupts() {
      await seat.type('\x03')
      read += (await hears((said) => said.includes(MARK))).length
    },
  }
}
