import { z } from 'zod'
import type { EnginesOptions } from './engines.ts'

/** Settings of local engines from the flags of `uk computer run`, stored on the machine. */
export const KeptEngines = z
  .object({
    context: z.coerce.number().int().min(256).max(10_000_000),
    gpu: z.enum(['auto', 'off']),
    folder: z.string().min(1),
    fetch_allow: z.array(z.string().regex(/^[^\s:/]+:\d{1,5}$|^\[[0-9a-fA-F:.]+\]:\d{1,5}$/)).max(100),
    ollama: z.string().min(1),
  })
  .partial()
export type KeptEngines = z.infer<typeof KeptEngines>

export const ENGINE_FLAGS: Readonly<Record<keyof KeptEngines, { flag: string; takes: string }>> = {
  context: { flag: 'engine_context', takes: 'a number of tokens, 256 or more' },
  gpu: { flag: 'engine_gpu', takes: '`auto` or `off`' },
  folder: { flag: 'engine_folder', takes: 'a folder' },
  fetch_allow: { flag: 'engine_fetch_allow', takes: '`host:port`, comma-separated' },
  ollama: { flag: 'ollama', takes: 'a URL' },
}

export function engineSettings(env: Readonly<Record<string, string | undefined>>): Partial<EnginesOptions> {
  const context = Number(env.OLLAMA_CONTEXT_LENGTH)
  return { ollama: ollamaAt(env.OLLAMA_HOST), ...(context > 0 && { ollamaContext: context }) }
}

export const keptSettings = ({ context, gpu, ollama, fetch_allow, folder }: KeptEngines): Partial<EnginesOptions> => ({
  ...(context !== undefined && { context }),
  ...(gpu !== undefined && { gpu }),
  ...(ollama !== undefined && { ollama: ollamaAt(ollama) }),
  ...(fetch_allow !== undefined && { local: fetch_allow }),
  ...(folder !== undefined && { installed: folder }),
})

const PORT = 11_434

export function ollamaAt(words = ''): string {
  const address = words.trim()
  const url = URL.parse(/^https?:\/\//.test(address) ? address : `http://${address}`)
  if (address === '' || url === null) return `http://127.0.0.1:${PORT}`
  // A wildcard listen address can't be called.
  const host = ['0.0.0.0', '[::]'].includes(url.hostname) ? '127.0.0.1' : url.hostname
  const port = url.port || (/^https?:\/\//.test(address) || address.endsWith(':80') ? '' : String(PORT))
  return `${url.protocol}//${host}${port === '' ? '' : `:${port}`}`
}
