import { NewKeyDialog } from '../../shared/keys/key-dialogs.tsx'
import { newDraft } from '../../shared/keys/key-draft.ts'
import { show } from './open.ts'

export default function NewKey() {
  return <NewKeyDialog open onOpen={(open) => show(open ? 'new-key' : 'nothing')} start={() => newDraft('gateway')} />
}
