import { join } from 'node:path'
import type { Capability } from '#core/scopes.ts'
import { pairedBy } from '../link/daemon.ts'
import { type RunningDaemon, daemonHome, continueDaemon, runDaemonAt } from '../link/run-daemon.ts'
import type { Person } from '../server.ts'
import { until } from '../until.ts'
import { type OllamaOptions, startOllama } from '../vendors/ollama/ollama.ts'
import type { Vendor } from '../vendors/vendor.ts'

/** A machine of somebody's, on which an Ollama runs, and nothing of llama.cpp. */
export interface OllamaBox extends AsyncDisposable {
  id: string
  ollama: Vendor
  /** Its daemon ends, and the server has noticed. */
  leave(): Promise<void>
  /** Its daemon runs again; `allows`: what the machine's owner lets the server do from now on. */
  comeBack(allows?: readonly Capability[]): Promise<void>
}

export async function ollamaBox(
  origin: string,
  person: Person,
  name: string,
  options: OllamaOptions = {},
): Promise<OllamaBox> {
  const stack = new AsyncDisposableStack()
  const ollama = stack.use(await startOllama(options))
  const home = stack.use(daemonHome())
  const paired = await pairedBy(person, { name })
  const engines = { ollama: ollama.origin, installed: join(home.folder, 'none') }
  let daemon: RunningDaemon | null = await runDaemonAt(home, origin, paired, { engines })
  const seen = async (connection: 'online' | 'offline'): Promise<void> => {
    await until(
      () => person.get(`/computers/${paired.id}`),
      ({ body }) => body.data.connection === connection,
    )
  }
  await seen('online')
  await person.get(`/computers/${paired.id}/local-inference/models`)
  return {
    id: paired.id,
    ollama,
    async leave() {
      await daemon?.[Symbol.asyncDispose]()
      daemon = null
      await seen('offline')
    },
    async comeBack(allows) {
      daemon = continueDaemon(home, { engines, ...(allows && { allows }) })
      await seen('online')
    },
    async [Symbol.asyncDispose]() {
      await daemon?.[Symbol.asyncDispose]()
      await stack.disposeAsync()
    },
  }
}
