import type { ReactNode } from 'react'
import { type Chosen, TextField } from '../../ui/field.tsx'

export const TokenField = (field: Chosen & { hint?: ReactNode }) => (
  <TextField label="Token" mono className="flex-1 basis-64" autoComplete="off" spellCheck={false} {...field} />
)
