from app import nothere
