import { TextField } from '../ui/field.tsx'

/** Names of models as one writes them, which `modelsIn` reads. */
export function ModelsField(field: {
  label: string
  value: string
  onValue: (models: string) => void
  error: string | null
}) {
  return (
    <TextField
      {...field}
      mono
      placeholder="all"
      hint={
        <>
          Ids as <code>openai/gpt-4o</code>, or all of a provider as <code>openai/*</code>, between commas.
        </>
      }
    />
  )
}
