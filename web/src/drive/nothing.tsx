import type { Place } from '../shared/drive/files.ts'
import { UploadButton } from '../shared/drive/uploads/upload-button.tsx'

export function Nothing({ place, name, mayWrite }: { place: Place; name: string; mayWrite: boolean }) {
  return (
    <div className="flex flex-1 items-center justify-center p-6">
      <div className="max-w-md border border-dashed border-keyline px-8 py-10 text-center">
        <h2 className="font-serif text-lg">This folder is empty</h2>
        {mayWrite ? (
          <>
            <p className="mt-1 mb-4 text-quiet">Drop files or folders on this page, or upload them.</p>
            <UploadButton place={place} name={name} />
          </>
        ) : (
          <p className="mt-1 text-quiet">You can view this folder. New files appear here.</p>
        )}
      </div>
    </div>
  )
}
