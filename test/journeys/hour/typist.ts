/** Somebody at a shell in a terminal, who types and reads. */
import type { KeeperClient } from '#daemon/keeper/client.ts'
import { seatAt } from '#test/computers/seat.ts'
import { type Line, type Names, readable } from './transcript.ts'

/** Invisible, before each prompt: https://gitlab.freedesktop.org/Per_Bothner/specifications/-/blob/master/proposals/semantic-prompts.md */
const MARK = '\x1b]133;A\x07'

export interface Typist {
  /**
   * Types a command and waits until it has ended, or until it has said this, when it goes on. `asked`: what it asks for on its way, and
   * what is typed then. Answers its output as it was.
   */
  types(command: string, more?: { asked?: readonly [asks: RegExp, answer: string][]; until?: RegExp }): Promise<string>
  /** Ctrl-C, and waits for the prompt. */
  interrupts(): Promise<void>
}

export async function sits(
  client: KeeperClient,
  {
    who,
    env,
    cwd,
    began,
    names,
    lines,
  }: {
    who: string
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
  return {
    async types(command, { asked = [], until } = {}) {
      const from = performance.now()
      await seat.type(`${command}\r`)
      let heard = 0
      for (const [asks, answer] of asked) {
        const said = await hears((all) => asks.test(all.slice(heard)))
        heard = said.length
        await seat.type(`${answer}\r`)
      }
      const said = await hears((all) => (until === undefined ? all.slice(heard).includes(MARK) : until.test(all)))
      read += said.length
      const output = said.slice(said.indexOf('\n') + 1).split(MARK)[0]!
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
