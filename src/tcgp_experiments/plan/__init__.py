"""What is computed, and what the paper prints and claims: plain data that runs nothing."""
