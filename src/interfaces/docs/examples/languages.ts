import type { ListedEndpoint } from '#core/registry.ts'
import { exampleCommands } from '../../cli/help/examples.ts'
import type { ExampleCall } from './call.ts'
import { curl, typescript } from './code.ts'
import { python } from './python.ts'

export interface Example {
  language: 'curl' | 'TypeScript' | 'Python' | 'uk'
  code: string
}

/** The call in each language. Each example runs unchanged with the key in `UK_KEY`. */
export const examplesOf = (listed: ListedEndpoint, call: ExampleCall): Example[] => [
  { language: 'curl', code: curl(call) },
  { language: 'TypeScript', code: typescript(call) },
  { language: 'Python', code: python(call) },
  { language: 'uk', code: exampleCommands(listed).join('\n') },
]
