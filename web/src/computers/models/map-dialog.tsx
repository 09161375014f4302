import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { type Model, refreshModels } from './queries.ts'

export function MapDialog({
  model: { id, computer_id, name, mapping },
  open,
  onOpen,
}: {
  model: Model
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const [model, setModel] = useState(mapping ?? '')
  const sending = useSend(uk.computers.map_local_model, async () => {
    await refreshModels(computer_id)
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Map local/${name} to a model`}
      about="Calls to that model use this local model at no cost. If the computer is offline, the cloud provider is used. Leave empty to remove the mapping."
      sending={sending}
      fields={['model']}
      verb="Save mapping"
      onSend={() =>
        void sending.send({
          id: computer_id,
          local_model_id: id,
          model: model.trim() === '' ? null : model.trim(),
        })
      }
    >
      <TextField
        label="Model"
        mono
        placeholder="provider/model"
        value={model}
        onValue={setModel}
        error={sending.at('model')}
      />
    </FormDialog>
  )
}
