import { TextField } from '../ui/field.tsx'

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
          Separate IDs such as <code>openai/gpt-4o</code>, or <code>openai/*</code> for all of a provider, with commas.
        </>
      }
    />
  )
}
