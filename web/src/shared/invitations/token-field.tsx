import type { ReactNode } from 'react'
import { type ChoiceProps, TextField } from '../../ui/field.tsx'

export const TokenField = (field: ChoiceProps & { hint?: ReactNode }) => (
  <TextField label="Token" mono className="flex-1 basis-64" autoComplete="off" spellCheck={false} {...field} />
)
