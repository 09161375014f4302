import { useMemo, useState } from 'react'
import type { Code } from '../../ui/code/code-block.tsx'
import { type Artefact, kindOf, verbs } from './kinds.ts'

/** The artifact shown next to the chat, and the handlers that code blocks open it with. */
export function useArtefact() {
  const [artefact, setArtefact] = useState<Artefact | null>(null)
  const beside = useMemo(
    () => ({
      verbFor(code: Code) {
        const kind = kindOf(code)
        return kind && verbs[kind]
      },
      open(code: Code) {
        const kind = kindOf(code)
        if (kind) setArtefact({ ...code, kind })
      },
    }),
    [],
  )
  return { artefact, beside, close: () => setArtefact(null) }
}
