"""The show room: results as text or data. It knows results only, never tasks or rules."""
